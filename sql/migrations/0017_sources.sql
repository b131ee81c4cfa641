-- What a person decided of a source. One stored file may be read as several: the sheets of a workbook.
alter table sources
  drop constraint sources_file_key_key,
  add column cleaning jsonb not null default '[]',
  add column choices jsonb not null default '{}',
  add column version bigint not null default 1;
create index on sources (file_key);
