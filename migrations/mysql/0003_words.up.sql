-- Tables and columns get the names of the glossary. Only metadata changes, and every
-- statement can run again.

-- Where another node of a cluster was quicker, the second step has made the table again,
-- empty.
SET @rename_members = (SELECT IF(COUNT(*) = 0,
  'ALTER TABLE schedule_nodes CHANGE node_id member_id VARCHAR(100) NOT NULL, RENAME TO schedule_members',
  'DROP TABLE IF EXISTS schedule_nodes')
  FROM information_schema.tables
  WHERE table_schema = DATABASE() AND table_name = 'schedule_members');
PREPARE rename_members FROM @rename_members;
EXECUTE rename_members;
DEALLOCATE PREPARE rename_members;

SET @rename_claim = (SELECT IF(COUNT(*) = 0, 'DO 0',
  'ALTER TABLE suspended_job_chains CHANGE rm_host claimed_by VARCHAR(255) NULL')
  FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'suspended_job_chains' AND column_name = 'rm_host');
PREPARE rename_claim FROM @rename_claim;
EXECUTE rename_claim;
DEALLOCATE PREPARE rename_claim;
