-- The token of the change that wrote a row last, by which a change whose answer was lost
-- is known.
ALTER TABLE requests RENAME COLUMN handover_token TO change_token;
ALTER TABLE suspended_job_chains ADD COLUMN change_token INTEGER NULL;
ALTER TABLE job_runners ADD COLUMN change_token INTEGER NULL;
ALTER TABLE schedule_apps ADD COLUMN change_token INTEGER NULL;
ALTER TABLE schedule_instances ADD COLUMN change_token INTEGER NULL;
ALTER TABLE schedule_archive ADD COLUMN change_token INTEGER NULL;
