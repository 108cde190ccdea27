-- Times are Unix microseconds in UTC unless a comment says otherwise. Every
-- statement can run again: a cluster without advisory locks may start two
-- migrations at once.

CREATE TABLE IF NOT EXISTS requests (
  request_id        CHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  type              VARCHAR(75)     NOT NULL,
  user              VARCHAR(100)    NOT NULL,
  state             TINYINT UNSIGNED NOT NULL,
  epoch             BIGINT UNSIGNED NOT NULL,
  -- The runner that has the request; null unless RUNNING.
  runner_id         VARCHAR(100)    NULL,
  jr_url            VARCHAR(500)    NULL,
  -- When the last hand-over was, and the number by which the call that made it
  -- knows its rows.
  handover_at       BIGINT          NULL,
  handover_token    BIGINT          NULL,
  created_at        BIGINT          NOT NULL,
  started_at        BIGINT          NULL,
  finished_at       BIGINT          NULL,
  updated_at        BIGINT          NOT NULL,
  stop_requested_at BIGINT          NULL,
  total_jobs        INT UNSIGNED    NOT NULL,
  finished_jobs     INT UNSIGNED    NOT NULL,
  reason            TEXT            NOT NULL,
  args              LONGTEXT        NOT NULL,
  PRIMARY KEY (request_id),
  KEY requests_created (created_at DESC, request_id),
  KEY requests_type (type, created_at DESC, request_id, state),
  KEY requests_user (user, created_at DESC, request_id, state, type),
  KEY requests_state (state, created_at DESC, request_id),
  KEY requests_finished (finished_at, created_at DESC, request_id),
  KEY requests_runner (runner_id, epoch, request_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS request_archives (
  request_id CHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  job_chain  LONGBLOB NOT NULL,
  PRIMARY KEY (request_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What lists filter by: a hash stands for the value, so that values of any
-- length match exactly and by index.
CREATE TABLE IF NOT EXISTS request_args (
  request_id CHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name       VARCHAR(100) NOT NULL,
  value_hash BINARY(16)   NOT NULL,
  created_at BIGINT       NOT NULL,
  PRIMARY KEY (request_id, name),
  KEY request_args_value (name, value_hash, created_at DESC, request_id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS idempotency_keys (
  -- Of user and key.
  key_hash   BINARY(32) NOT NULL,
  request_id CHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  body_hash  VARBINARY(64) NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (key_hash),
  KEY idempotency_keys_created (created_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS suspended_job_chains (
  request_id   CHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- The Request Manager that claimed it.
  rm_host      VARCHAR(255) NULL,
  claimed_at   BIGINT NULL,
  suspended_at BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL,
  sjc          LONGBLOB NOT NULL,
  PRIMARY KEY (request_id),
  KEY suspended_job_chains_claim (rm_host, suspended_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS job_log (
  request_id  CHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  seq         BIGINT UNSIGNED NOT NULL,
  job_id      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  try         INT UNSIGNED    NOT NULL,
  run         INT UNSIGNED    NOT NULL,
  epoch       BIGINT UNSIGNED NOT NULL,
  name        VARCHAR(255)    NOT NULL,
  type        VARCHAR(255)    NOT NULL,
  -- Unix nanoseconds, by the runner's clock.
  started_at  BIGINT          NOT NULL,
  finished_at BIGINT          NOT NULL,
  state       TINYINT UNSIGNED NOT NULL,
  exit_code   BIGINT          NOT NULL,
  timed_out   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  error       MEDIUMTEXT      NOT NULL,
  stdout      LONGBLOB        NULL,
  stderr      LONGBLOB        NULL,
  data        LONGTEXT        NULL,
  PRIMARY KEY (request_id, seq),
  KEY job_log_job (request_id, job_id, try)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS job_runners (
  runner_id       VARCHAR(100) NOT NULL,
  url             VARCHAR(500) NOT NULL,
  host            VARCHAR(255) NOT NULL,
  pid             BIGINT       NOT NULL,
  version         VARCHAR(100) NOT NULL,
  labels          TEXT         NOT NULL,
  capacity        INT UNSIGNED NOT NULL,
  running         INT UNSIGNED NOT NULL,
  -- The runner says that it takes nothing new; an operator asked it to.
  draining        TINYINT      NOT NULL,
  drain_requested TINYINT      NOT NULL,
  started_at      BIGINT       NOT NULL,
  heartbeat_at    BIGINT       NOT NULL,
  -- When it was given up: from then on its heartbeats are refused.
  gone_at         BIGINT       NULL,
  PRIMARY KEY (runner_id),
  KEY job_runners_url (url),
  KEY job_runners_heartbeat (heartbeat_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
