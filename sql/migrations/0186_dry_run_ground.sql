-- A digest of the inputs of a dry run, to show when its plan is out of date. Null for other runs and for dry runs of earlier releases.
alter table runs add column ground text;
