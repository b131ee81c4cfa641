-- The values that Lading last wrote to a record, or found confirmed there, as short keyed digests. A field of a record that shows another
-- value was edited by a person.

-- `fields`: the API names of the fields; a field's number is its position, from 1. `key_sealed`: the key of the module's digests.
create table written_modules (
  org_id text not null references orgs on delete cascade,
  connector_id text not null references connectors on delete cascade,
  module text not null,
  key_sealed text not null,
  fields text[] not null,
  primary key (org_id, connector_id, module)
);
create index written_modules_connector on written_modules (connector_id);

-- `marks`: eight bytes per value in the order of the numbers: the number of the field in two bytes, then six bytes of the digest. A field has
-- several marks while it is not known which of several values the record holds. Its update was sent and not answered.
create table written_records (
  org_id text not null,
  connector_id text not null,
  module text not null,
  record_id text not null,
  marks bytea not null,
  touched_at timestamptz not null default lading_now(),
  primary key (org_id, connector_id, module, record_id),
  foreign key (org_id, connector_id, module) references written_modules on delete cascade
) with (fillfactor = 85);

-- Merges marks: the fields of `fresh` replace the old marks of the same fields.
create function merge_marks(old bytea, fresh bytea) returns bytea language plpgsql immutable parallel safe as $$
  declare
    merged bytea := '';
    i int := 1;
    j int := 1;
  begin
    while i <= length(old) loop
      while j <= length(fresh) and substring(fresh from j for 2) < substring(old from i for 2) loop
        merged := merged || substring(fresh from j for 8);
        j := j + 8;
      end loop;
      if j > length(fresh) or substring(fresh from j for 2) <> substring(old from i for 2) then
        merged := merged || substring(old from i for 8);
      end if;
      i := i + 8;
    end loop;
    return merged || substring(fresh from j);
  end $$;

create function split_marks(marks bytea) returns setof bytea language sql immutable parallel safe as $$
  select substring(marks from n * 8 + 1 for 8) from generate_series(0, length(marks) / 8 - 1) as n $$;

-- Adds the marks of an unanswered update: each field that has a mark may hold the sent value too.
create function widen_marks(old bytea, sent bytea) returns bytea language sql immutable parallel safe as $$
  select coalesce(string_agg(mark, ''::bytea order by mark), '') from (
    select mark from split_marks(old) as mark
    union
    select mark from split_marks(sent) as mark
    where substring(mark for 2) in (select substring(other for 2) from split_marks(old) as other)) as marks $$;

-- What happens to a value that a person edited. `module_key` is empty for the setting of the org.
create table edit_settings (
  org_id text not null references orgs on delete cascade,
  module_key text not null default '',
  on_edited text not null check (on_edited in ('overwrite', 'keep', 'ask')),
  primary key (org_id, module_key)
);
