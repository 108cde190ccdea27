-- The token of the change that wrote a row last, by which a change whose answer was lost
-- is known. Only metadata changes, and every statement can run again.

SET @rename_token = (SELECT IF(COUNT(*) = 0, 'DO 0',
  'ALTER TABLE requests CHANGE handover_token change_token BIGINT NULL')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'requests' AND column_name = 'handover_token');
PREPARE rename_token FROM @rename_token;
EXECUTE rename_token;
DEALLOCATE PREPARE rename_token;

SET @add_token = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE suspended_job_chains ADD COLUMN change_token BIGINT NULL', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'suspended_job_chains' AND column_name = 'change_token');
PREPARE add_token FROM @add_token;
EXECUTE add_token;
DEALLOCATE PREPARE add_token;

SET @add_token = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE job_runners ADD COLUMN change_token BIGINT NULL', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'job_runners' AND column_name = 'change_token');
PREPARE add_token FROM @add_token;
EXECUTE add_token;
DEALLOCATE PREPARE add_token;

SET @add_token = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE schedule_apps ADD COLUMN change_token BIGINT NULL', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'schedule_apps' AND column_name = 'change_token');
PREPARE add_token FROM @add_token;
EXECUTE add_token;
DEALLOCATE PREPARE add_token;

SET @add_token = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE schedule_instances ADD COLUMN change_token BIGINT NULL', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'schedule_instances' AND column_name = 'change_token');
PREPARE add_token FROM @add_token;
EXECUTE add_token;
DEALLOCATE PREPARE add_token;

SET @add_token = (SELECT IF(COUNT(*) = 0, 'ALTER TABLE schedule_archive ADD COLUMN change_token BIGINT NULL', 'DO 0')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'schedule_archive' AND column_name = 'change_token');
PREPARE add_token FROM @add_token;
EXECUTE add_token;
DEALLOCATE PREPARE add_token;
