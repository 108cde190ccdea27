-- What Request Managers write to find out whether they can store requests. A few rows,
-- which are written again and again.
CREATE TABLE IF NOT EXISTS write_probes (
  slot       INTEGER NOT NULL PRIMARY KEY,
  written_at INTEGER NOT NULL,
  filler     BLOB    NOT NULL
);
