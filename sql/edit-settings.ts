import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

export type OnEditedName = 'overwrite' | 'keep' | 'ask'

const Setting = z.object({module: z.string().nullable(), onEdited: z.enum(['overwrite', 'keep', 'ask'])})

/** Lists the settings for edited values: the org's own, whose `module` is null, and those of the connection's modules. */
export const listEditSettings = (db: Db, {org, connector}: {org: string; connector: string}) =>
  db.any(sql.type(Setting)`
    select m.api_name as module, on_edited as "onEdited" from edit_settings e
    left join curated_modules m on m.org_id = e.org_id and m.key = e.module_key
    where e.org_id = ${org} and (e.module_key = '' or m.connector_id = ${connector})`)

/** Stores the settings of these keys: a module's key, or '' for the org. Null removes a setting. */
export const keepEditSettings = async (tx: Tx, org: string, settings: readonly {key: string; onEdited: OnEditedName | null}[]) => {
  await deleteEditSettings(
    tx,
    org,
    settings.map(({key}) => key),
  )
  const chosen = settings.filter(({onEdited}) => onEdited !== null)
  if (chosen.length > 0)
    await tx.query(sql.type(z.object({}))`
      insert into edit_settings (org_id, module_key, on_edited)
      select ${org}, key, "onEdited" from jsonb_to_recordset(${sql.jsonb(chosen)}) as given (key text, "onEdited" text)`)
}

export const deleteEditSettings = (tx: Tx, org: string, keys: readonly string[]) =>
  tx.query(sql.type(z.object({}))`delete from edit_settings where org_id = ${org} and module_key = any(${sql.array([...keys], 'text')})`)
