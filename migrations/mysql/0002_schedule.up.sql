-- Recurring work. As in the first step, times are Unix microseconds in UTC, and every
-- statement can run again.

-- The host whose runners alone run the request; '' is any.
SET @add_host = (SELECT IF(COUNT(*) = 0,
  'ALTER TABLE requests ADD COLUMN host VARCHAR(255) NOT NULL DEFAULT ''''', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'requests' AND column_name = 'host');
PREPARE add_host FROM @add_host;
EXECUTE add_host;
DEALLOCATE PREPARE add_host;

CREATE TABLE IF NOT EXISTS schedule_apps (
  name           VARCHAR(75)     NOT NULL,
  -- JSON.
  definition     LONGTEXT        NOT NULL,
  source         VARCHAR(10)     NOT NULL,
  paused         TINYINT         NOT NULL,
  -- It has instances that make the next one.
  recurring      TINYINT         NOT NULL,
  generation     BIGINT UNSIGNED NOT NULL,
  bucket         SMALLINT UNSIGNED NOT NULL,
  -- The number of the newest instance, and of the one that has the slot.
  last_number    BIGINT UNSIGNED NOT NULL,
  active_number  BIGINT UNSIGNED NULL,
  since          BIGINT          NOT NULL,
  -- When the period that starts at deadline_start is late.
  deadline_at    BIGINT          NULL,
  deadline_start BIGINT          NULL,
  created_at     BIGINT          NOT NULL,
  updated_at     BIGINT          NOT NULL,
  deleted_at     BIGINT          NULL,
  PRIMARY KEY (name),
  KEY schedule_apps_deadline (deadline_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS schedule_depends (
  upstream VARCHAR(75) NOT NULL,
  app      VARCHAR(75) NOT NULL,
  period   VARCHAR(50) NOT NULL,
  PRIMARY KEY (upstream, app),
  KEY schedule_depends_app (app)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Instances that have not ended.
CREATE TABLE IF NOT EXISTS schedule_instances (
  app             VARCHAR(75)     NOT NULL,
  number          BIGINT UNSIGNED NOT NULL,
  name            VARCHAR(200)    NOT NULL,
  period_start    BIGINT          NOT NULL,
  period_end      BIGINT          NOT NULL,
  -- How often the period was run before.
  run             INT UNSIGNED    NOT NULL,
  bucket          SMALLINT UNSIGNED NOT NULL,
  state           TINYINT UNSIGNED NOT NULL,
  sequence_number BIGINT UNSIGNED NOT NULL,
  -- Who works on it. Without one, fetch_at is when somebody looks at it; null is never.
  member          VARCHAR(100)    NULL,
  recurring       TINYINT         NOT NULL,
  -- The app, if it is recurring and QUEUED: of these there is one at most.
  next_of         VARCHAR(75)     NULL,
  due_at          BIGINT          NOT NULL,
  fetch_at        BIGINT          NULL,
  -- It waits for its host or the slot of its app, not for its time.
  held            TINYINT         NOT NULL,
  host            VARCHAR(255)    NOT NULL,
  created_at      BIGINT          NOT NULL,
  started_at      BIGINT          NULL,
  timeout_at      BIGINT          NULL,
  request_id      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  undo_request_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  undo_tries      INT UNSIGNED    NOT NULL,
  -- The request at whose end somebody looks at it.
  waits_for       VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  reason          TEXT            NOT NULL,
  conf            LONGTEXT        NULL,
  PRIMARY KEY (app, number),
  UNIQUE KEY schedule_instances_period (app, period_start),
  UNIQUE KEY schedule_instances_next (next_of),
  KEY schedule_instances_fetch (fetch_at, bucket),
  KEY schedule_instances_member (member),
  KEY schedule_instances_waits (waits_for),
  KEY schedule_instances_host (host, due_at),
  KEY schedule_instances_state (state, due_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Instances that have ended.
CREATE TABLE IF NOT EXISTS schedule_archive (
  app             VARCHAR(75)     NOT NULL,
  number          BIGINT UNSIGNED NOT NULL,
  name            VARCHAR(200)    NOT NULL,
  period_start    BIGINT          NOT NULL,
  period_end      BIGINT          NOT NULL,
  run             INT UNSIGNED    NOT NULL,
  state           TINYINT UNSIGNED NOT NULL,
  sequence_number BIGINT UNSIGNED NOT NULL,
  member          VARCHAR(100)    NULL,
  recurring       TINYINT         NOT NULL,
  due_at          BIGINT          NOT NULL,
  host            VARCHAR(255)    NOT NULL,
  created_at      BIGINT          NOT NULL,
  started_at      BIGINT          NULL,
  timeout_at      BIGINT          NULL,
  finished_at     BIGINT          NOT NULL,
  request_id      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  undo_request_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  undo_tries      INT UNSIGNED    NOT NULL,
  reason          TEXT            NOT NULL,
  conf            LONGTEXT        NULL,
  result          LONGTEXT        NULL,
  PRIMARY KEY (app, number),
  KEY schedule_archive_period (app, period_start, number, state),
  KEY schedule_archive_app (app, finished_at),
  KEY schedule_archive_host (host, finished_at),
  KEY schedule_archive_finished (finished_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Periods of apps that may be complete. The count starts at random, so that a signal
-- that was settled and given again is another one.
CREATE TABLE IF NOT EXISTS schedule_signals (
  app          VARCHAR(75)     NOT NULL,
  period_start BIGINT          NOT NULL,
  count        BIGINT UNSIGNED NOT NULL,
  created_at   BIGINT          NOT NULL,
  PRIMARY KEY (app, period_start),
  KEY schedule_signals_created (created_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS schedule_events (
  id           BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  app          VARCHAR(75)     NOT NULL,
  kind         VARCHAR(20)     NOT NULL,
  -- The starts of the first period and of the last one.
  period_start BIGINT          NOT NULL,
  period_to    BIGINT          NOT NULL,
  count        BIGINT UNSIGNED NOT NULL,
  reason       TEXT            NOT NULL,
  at           BIGINT          NOT NULL,
  PRIMARY KEY (id),
  KEY schedule_events_app (app, id),
  KEY schedule_events_kind (app, kind, period_start),
  KEY schedule_events_at (at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Members that run the engine.
CREATE TABLE IF NOT EXISTS schedule_nodes (
  node_id      VARCHAR(100) NOT NULL,
  host         VARCHAR(255) NOT NULL,
  pid          BIGINT       NOT NULL,
  version      VARCHAR(100) NOT NULL,
  started_at   BIGINT       NOT NULL,
  heartbeat_at BIGINT       NOT NULL,
  -- For how long after that it lives, in microseconds.
  stale_after  BIGINT       NOT NULL,
  -- When it was given up: from then on its heartbeats are refused.
  gone_at      BIGINT       NULL,
  PRIMARY KEY (node_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- One row.
CREATE TABLE IF NOT EXISTS schedule_settings (
  id        TINYINT      NOT NULL,
  -- 0 is as many as the program says.
  shards    INT UNSIGNED NOT NULL,
  -- Counts the changes of definitions: who checks one against the others stores it only
  -- if no other was changed meanwhile.
  apps_version BIGINT UNSIGNED NOT NULL DEFAULT 1,
  -- Of instances that ended before that, some were removed from the archive.
  purged_to BIGINT       NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

INSERT IGNORE INTO schedule_settings (id, shards) VALUES (1, 0);
