-- Recurring work. As in the first step, times are Unix microseconds in UTC.

-- The host whose runners alone run the request; '' is any.
ALTER TABLE requests ADD COLUMN host TEXT NOT NULL DEFAULT '';

CREATE TABLE IF NOT EXISTS schedule_apps (
  name TEXT NOT NULL,
  -- JSON.
  definition TEXT NOT NULL,
  source TEXT NOT NULL,
  paused INTEGER NOT NULL,
  -- It has instances that make the next one.
  recurring INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  -- The number of the newest instance, and of the one that has the slot.
  last_number INTEGER NOT NULL,
  active_number INTEGER NULL,
  since INTEGER NOT NULL,
  -- When the period that starts at deadline_start is late.
  deadline_at INTEGER NULL,
  deadline_start INTEGER NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER NULL,
  PRIMARY KEY (name)
);
CREATE INDEX IF NOT EXISTS schedule_apps_deadline ON schedule_apps (deadline_at);

CREATE TABLE IF NOT EXISTS schedule_depends (
  upstream TEXT NOT NULL,
  app TEXT NOT NULL,
  period TEXT NOT NULL,
  PRIMARY KEY (upstream, app)
);
CREATE INDEX IF NOT EXISTS schedule_depends_app ON schedule_depends (app);

-- Instances that have not ended.
CREATE TABLE IF NOT EXISTS schedule_instances (
  app TEXT NOT NULL,
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  period_start INTEGER NOT NULL,
  period_end INTEGER NOT NULL,
  -- How often the period was run before.
  run INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  state INTEGER NOT NULL,
  sequence_number INTEGER NOT NULL,
  -- Who works on it. Without one, fetch_at is when somebody looks at it; null is never.
  member TEXT NULL,
  recurring INTEGER NOT NULL,
  -- The app, if it is recurring and QUEUED: of these there is one at most.
  next_of TEXT NULL,
  due_at INTEGER NOT NULL,
  fetch_at INTEGER NULL,
  -- It waits for its host or the slot of its app, not for its time.
  held INTEGER NOT NULL,
  host TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER NULL,
  timeout_at INTEGER NULL,
  request_id TEXT NULL,
  undo_request_id TEXT NULL,
  undo_tries INTEGER NOT NULL,
  -- The request at whose end somebody looks at it.
  waits_for TEXT NULL,
  reason TEXT NOT NULL,
  conf TEXT NULL,
  PRIMARY KEY (app, number)
);
CREATE UNIQUE INDEX IF NOT EXISTS schedule_instances_period ON schedule_instances (app, period_start);
CREATE UNIQUE INDEX IF NOT EXISTS schedule_instances_next ON schedule_instances (next_of);
CREATE INDEX IF NOT EXISTS schedule_instances_fetch ON schedule_instances (fetch_at, bucket);
CREATE INDEX IF NOT EXISTS schedule_instances_member ON schedule_instances (member);
CREATE INDEX IF NOT EXISTS schedule_instances_waits ON schedule_instances (waits_for);
CREATE INDEX IF NOT EXISTS schedule_instances_host ON schedule_instances (host, due_at);
CREATE INDEX IF NOT EXISTS schedule_instances_state ON schedule_instances (state, due_at);

-- Instances that have ended.
CREATE TABLE IF NOT EXISTS schedule_archive (
  app TEXT NOT NULL,
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  period_start INTEGER NOT NULL,
  period_end INTEGER NOT NULL,
  run INTEGER NOT NULL,
  state INTEGER NOT NULL,
  sequence_number INTEGER NOT NULL,
  member TEXT NULL,
  recurring INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  host TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER NULL,
  timeout_at INTEGER NULL,
  finished_at INTEGER NOT NULL,
  request_id TEXT NULL,
  undo_request_id TEXT NULL,
  undo_tries INTEGER NOT NULL,
  reason TEXT NOT NULL,
  conf TEXT NULL,
  result TEXT NULL,
  PRIMARY KEY (app, number)
);
CREATE INDEX IF NOT EXISTS schedule_archive_period ON schedule_archive (app, period_start, number, state);
CREATE INDEX IF NOT EXISTS schedule_archive_app ON schedule_archive (app, finished_at);
CREATE INDEX IF NOT EXISTS schedule_archive_host ON schedule_archive (host, finished_at);
CREATE INDEX IF NOT EXISTS schedule_archive_finished ON schedule_archive (finished_at);

-- Periods of apps that may be complete. The count starts at random, so that a signal
-- that was settled and given again is another one.
CREATE TABLE IF NOT EXISTS schedule_signals (
  app TEXT NOT NULL,
  period_start INTEGER NOT NULL,
  count INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (app, period_start)
);
CREATE INDEX IF NOT EXISTS schedule_signals_created ON schedule_signals (created_at);

CREATE TABLE IF NOT EXISTS schedule_events (
  id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  app TEXT NOT NULL,
  kind TEXT NOT NULL,
  -- The starts of the first period and of the last one.
  period_start INTEGER NOT NULL,
  period_to INTEGER NOT NULL,
  count INTEGER NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS schedule_events_app ON schedule_events (app, id);
CREATE INDEX IF NOT EXISTS schedule_events_kind ON schedule_events (app, kind, period_start);
CREATE INDEX IF NOT EXISTS schedule_events_at ON schedule_events (at);

-- Members that run the engine.
CREATE TABLE IF NOT EXISTS schedule_nodes (
  node_id TEXT NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  version TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  heartbeat_at INTEGER NOT NULL,
  -- For how long after that it lives, in microseconds.
  stale_after INTEGER NOT NULL,
  -- When it was given up: from then on its heartbeats are refused.
  gone_at INTEGER NULL,
  PRIMARY KEY (node_id)
);

-- One row.
CREATE TABLE IF NOT EXISTS schedule_settings (
  id INTEGER NOT NULL,
  -- 0 is as many as the program says.
  shards INTEGER NOT NULL,
  -- Counts the changes of definitions: who checks one against the others stores it only
  -- if no other was changed meanwhile.
  apps_version INTEGER NOT NULL DEFAULT 1,
  -- Of instances that ended before that, some were removed from the archive.
  purged_to INTEGER NULL,
  PRIMARY KEY (id)
);

INSERT OR IGNORE INTO schedule_settings (id, shards) VALUES (1, 0);
