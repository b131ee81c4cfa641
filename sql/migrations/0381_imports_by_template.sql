-- Imports of a template version, the newest of which the re-check of the template reads.
-- concurrently
create index concurrently if not exists imports_by_template on imports (template_id, template_version, import_no) where template_id is not null;
