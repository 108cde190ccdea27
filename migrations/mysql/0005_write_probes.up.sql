-- What Request Managers write to find out whether they can store requests. A few rows,
-- which are written again and again.
CREATE TABLE IF NOT EXISTS write_probes (
  slot       SMALLINT UNSIGNED NOT NULL,
  written_at BIGINT            NOT NULL,
  filler     LONGBLOB          NOT NULL,
  PRIMARY KEY (slot)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
