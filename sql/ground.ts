import {sql} from './database.ts'

/** A digest of all inputs of a check or dry run of import `i`, except the CRM's fields. The digest of an unchanged import is the same. */
export const groundOfImport = sql.fragment`md5(jsonb_build_array(
      i.flows,
      (select jsonb_agg(jsonb_build_array(s.id, s.version) order by s.source_no) from sources s where s.import_no = i.import_no),
      (select jsonb_agg(jsonb_build_array(l.id, l.version_no) order by l.id) from libraries l where l.org_id = i.org_id),
      (select expression_context from org_settings where org_settings.org_id = i.org_id),
      (select plan_version_id from org_plans p where p.org_id = i.org_id)
    )::text)`
