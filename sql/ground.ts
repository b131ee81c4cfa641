import {sql} from './database.ts'

type Fragment = ReturnType<typeof sql.fragment>

/** SQL for the settings of the modules of import `i`. Modules without a setting are left out. */
const settingsOfModules = (settings: Fragment, isSet: Fragment) => sql.fragment`(
        select jsonb_agg(jsonb_build_array(m.key, ${settings}) order by m.key) from curated_modules m left join edit_settings e on e.org_id = m.org_id and e.module_key = m.key
        where m.org_id = i.org_id and m.connector_id = i.connector_id and ${isSet}
          and exists (select from jsonb_array_elements(i.flows) flow where flow ->> 'module' = m.api_name))`

/**
 * SQL for the inputs of a check of import `i`, except the CRM's fields. Leaves out default settings, because a module has no stored settings before
 * their first change.
 */
const inputsOfCheck = sql.fragment`
      i.flows,
      (select jsonb_agg(jsonb_build_array(s.id, s.version) order by s.source_no) from sources s where s.import_no = i.import_no),
      (select jsonb_agg(jsonb_build_array(l.id, l.version_no) order by l.id) from libraries l where l.org_id = i.org_id),
      (select nullif(jsonb_build_array(expression_context, date_format, timezone), '[{}, "yyyy-MM-dd", "UTC"]')
        from org_settings where org_settings.org_id = i.org_id),
      (select plan_version_id from org_plans p where p.org_id = i.org_id),
      ${settingsOfModules(sql.fragment`m.disabled, m.idempotency_field`, sql.fragment`(m.disabled or m.idempotency_field is not null)`)}`

/** SQL for a digest of all inputs of a check of import `i`, except the CRM's fields. */
export const groundOfCheck = sql.fragment`md5(jsonb_build_array(${inputsOfCheck})::text)`

/**
 * SQL for a digest of all inputs of a dry run of import `i`, except the CRM's data: those of a check, the settings for edited values, and the
 * decisions.
 */
export const groundOfDryRun = sql.fragment`md5(jsonb_build_array(${inputsOfCheck},
      (select on_edited from edit_settings e where e.org_id = i.org_id and e.module_key = ''),
      ${settingsOfModules(sql.fragment`e.on_edited`, sql.fragment`e.on_edited is not null`)},
      (select max(decision_no) from decisions d where d.import_no = i.import_no)
    )::text)`

/**
 * SQL for a digest of all inputs of a forecast of import `i`, except the CRM's data: those of a dry run, and whether the org turned undo off. Without
 * undo, a run reads no before images. With undo, the digest equals that of a dry run.
 */
export const groundOfForecast = sql.fragment`concat(${groundOfDryRun},
    (select ' undo off' from org_settings s where s.org_id = i.org_id and not s.undo))`
