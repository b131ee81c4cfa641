-- From when history windows count.

-- When somebody last did something with an import: made or renamed it, brought or changed a file, set flows, answered, checked, ran.
alter table imports add column touched_at timestamptz not null default lading_now();

create function touch_itself() returns trigger language plpgsql as
  $$ begin new.touched_at := lading_now(); return new; end $$;
create trigger imports_touch_themselves before update on imports for each row when (new.expired_at is null) execute function touch_itself();

create function touch_import() returns trigger language plpgsql as
  $$ begin update imports set touched_at = lading_now() where import_no = new.import_no and expired_at is null; return null; end $$;
create trigger sources_touch_imports after insert or update on sources for each row execute function touch_import();
create trigger checks_touch_imports after insert on checks for each row execute function touch_import();
create trigger decisions_touch_imports after insert on decisions for each row execute function touch_import();

-- When a sandbox was last tied to a production org or loosed from one: its plan, and with that its window, may be another from then on.
alter table orgs add column tied_at timestamptz;
create function note_tie() returns trigger language plpgsql as
  $$ begin new.tied_at := lading_now(); return new; end $$;
create trigger orgs_note_ties before update of sandbox_of on orgs for each row
  when (old.sandbox_of is distinct from new.sandbox_of) execute function note_tie();
