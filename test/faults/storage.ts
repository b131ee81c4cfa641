import {mkdir, rm, writeFile} from 'node:fs/promises'
import {dirname, join} from 'node:path'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import type {Deployment} from '../support/deployment.ts'
import {until} from '../support/until.ts'

/**
 * Puts a file in the place of the run's directory, so that the run's records cannot be archived. Returns a function that repairs storage and
 * waits until the records are archived.
 */
export const breakStorage = async ({config, db}: Deployment, {org, run}: {org: string; run: string}) => {
  const folder = join(config.STORAGE_DIR, org, 'runs', run)
  await mkdir(dirname(folder), {recursive: true})
  await writeFile(folder, '')
  return async () => {
    await rm(folder)
    await until(
      async () => {
        await db.query(sql.unsafe`update runs set archive_after = null where id = ${run} and not archived`)
        return db.oneFirst(sql.type(z.object({archived: z.boolean()}))`select archived from runs where id = ${run}`)
      },
      archived => archived,
    )
  }
}
