import {readMigration} from '../../sql/migration-files.ts'
import {judgeMigration} from '../sql/migration-rules.ts'
import type {StartedParts} from '../support/deployment.ts'
import {type Build, copyBuild, type Edit} from './upgrade-builds.ts'

/**
 * The migrations of the first of two future releases, in which the name of an import moves to another column. The first release expands: a
 * trigger keeps both columns equal, and the code reads only the new column. The second release, `CONTRACT`, drops what only the previous build
 * reads. Together they contain every kind of migration.
 */
const EXPAND = {
  '9001_title': `alter table imports add column title text, add column weight int not null default 0, alter column name drop not null;\n`,
  '9002_alike': `create function keep_alike() returns trigger language plpgsql as $$ begin
      if tg_op = 'INSERT' then
        new.title := coalesce(new.title, new.name); new.name := coalesce(new.name, new.title);
      elsif new.name is distinct from old.name then new.title := new.name;
      else new.name := new.title; end if;
      return new;
    end $$;
    create trigger imports_keep_alike before insert or update of name, title on imports for each row execute function keep_alike();\n`,
  '9003_titles': `-- in pieces
    update imports set title = name where import_no in (select import_no from imports where title is null limit 50);\n`,
  '9004_title_there': 'alter table imports add constraint imports_title_there check (title is not null) not valid;\n',
  '9005_title_there_always': 'alter table imports validate constraint imports_title_there;\n',
  '9006_by_title': '-- concurrently\ncreate index concurrently if not exists imports_title on imports (org_id, title);\n',
  '9007_import_notes': `create table import_notes (
      import_no bigint not null references imports on delete cascade,
      org_id text not null references orgs on delete cascade,
      note text not null check (note <> ''),
      noted_at timestamptz not null default lading_now(),
      primary key (import_no, noted_at)
    );
    create index on import_notes (org_id);
    create trigger notes_touch_imports after insert on import_notes for each row execute function touch_import();\n`,
  '9008_log_spare': 'alter table run_log add column spare smallint not null default 0;\n',
  '9009_head_spare': 'alter table run_heads add column spare text;\n',
  '9010_spare_known': `alter table run_log add constraint run_log_spare_known check (spare between 0 and 9) not valid;\n`,
  '9011_spare_known_always': 'alter table run_log validate constraint run_log_spare_known;\n',
  '9012_chain_rows_by_run': '-- concurrently\ncreate index concurrently if not exists run_log_spare on run_log (run_no) where spare > 0;\n',
}

const CONTRACT = {
  '9021_title_not_null':
    '-- contract: the build before writes it always, or its trigger does\nalter table imports alter column title set not null;\n',
  '9022_not_alike': '-- contract: nobody reads the other column\ndrop trigger imports_keep_alike on imports;\n',
  '9023_no_name': '-- contract: the build before reads title\nalter table imports drop column name, drop column weight;\n',
  '9024_no_function': '-- contract: its trigger is gone\ndrop function keep_alike();\n',
  '9025_no_spare_index': '-- concurrently\n-- contract: nobody asks by it\ndrop index concurrently if exists run_log_spare;\n',
}

const imports = 'sql/imports.ts'
/** Edits of the code for the new column. The widget changes too, so that each build is asked for a file of the other. */
const CODE: Edit[] = [
  {file: imports, from: 'import_no as no, id, name, connector_id', to: 'import_no as no, id, title as name, connector_id'},
  {file: imports, from: 'connector_id, name, created_by, template_id', to: 'connector_id, title, created_by, template_id'},
  {file: imports, from: 'select import_no as no, id, name from imports', to: 'select import_no as no, id, title as name from imports'},
  {file: imports, from: 'set name = $', to: 'set title = $'},
  {file: imports, from: 'strpos(lower(name)', to: 'strpos(lower(title)'},
  {file: imports, from: '(name <> $', to: '(title <> $'},
  {file: 'api/clients/widget/next.ts', text: "export const next = 'a file that the build before has not got'\n"},
]

/** Writes the build `expanding` and its successor `contracting`. The code of both knows only the new column. */
export const writeNext = async (begun: StartedParts, now: Build): Promise<{expanding: Build; contracting: Build}> => {
  const expanding = await copyBuild(begun, 'next', now.root, [...CODE, ...filesOf(EXPAND)])
  return {expanding, contracting: await copyBuild(begun, 'after next', expanding.root, filesOf(CONTRACT))}
}

const filesOf = (texts: Record<string, string>): Edit[] =>
  Object.entries(texts).map(([name, text]) => ({file: `sql/migrations/${name}.sql`, text}))

/** Returns the violations of the migration rules by these migrations. There must be none. */
export const judgeNext = (): string[] => {
  const all = Object.entries({...EXPAND, ...CONTRACT}).map(([name, text]) => readMigration(name, text))
  return all.flatMap((migration, at) => judgeMigration(migration, all.slice(0, at)).map(say => `${migration.name}: ${say}`))
}
