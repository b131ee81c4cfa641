-- The bulk job that holds the rows of a batch. Null: the batch is one call.
alter table sends add column bulk_job int;
