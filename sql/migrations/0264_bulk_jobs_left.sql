-- When a run went on or ended although the CRM had not finished the job. Null: the run did not leave it.
alter table bulk_jobs add column left_at timestamptz;
