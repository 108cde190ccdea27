-- Tables and columns get the names of the glossary.
ALTER TABLE schedule_nodes RENAME TO schedule_members;
ALTER TABLE schedule_members RENAME COLUMN node_id TO member_id;
ALTER TABLE suspended_job_chains RENAME COLUMN rm_host TO claimed_by;
