import {z} from 'zod'
import type {Db} from '../../sql/database.ts'
import {findImport, listImportNames} from '../../sql/imports.ts'
import {listOrgRuns, RunState} from '../../sql/runs.ts'
import {Refusal} from '../errors.ts'
import {readPage} from '../security/cursor.ts'
import type {KeyRing} from '../security/secrets.ts'
import {describeRun} from './describe.ts'
import {readRun} from './names.ts'

const states: readonly string[] = RunState.options
const flag = z
  .enum(['true', 'false'])
  .transform(given => given === 'true')
  .optional()

export const RunsFilter = z.object({
  state: z
    .string()
    .refine(given => given.split(',').every(one => states.includes(one)), `Of: ${states.join(', ')}`)
    .optional()
    .describe('Comma-separated states'),
  import: z.string().optional().describe('Runs of this import'),
  dryRun: flag.describe('`true`: only dry runs. `false`: no dry runs'),
  stopped: flag.describe('`true`: only runs that were stopped before all rows were done. `false`: only other runs'),
})

type HistoryQuery = z.output<typeof RunsFilter> & {org: string; limit: number; cursor?: string | undefined}

/** Returns a page of an org's runs, newest first, each with the name of its import. */
export const historyOf = async ({db, ring}: {db: Db; ring: KeyRing}, {org, limit, cursor, ...filter}: HistoryQuery) => {
  const found = filter.import === undefined ? null : await findImport(db, {org, id: filter.import})
  if (filter.import !== undefined && !found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  const wanted = {org, states: filter.state?.split(',') ?? null, dryRun: filter.dryRun ?? null, isStopped: filter.stopped ?? null}
  const list = `runs ${org} ${JSON.stringify(filter)}`
  const {page, nextCursor} = await readPage(
    ring,
    list,
    {limit, cursor},
    {
      as: String,
      read: asked => listOrgRuns(db, {...wanted, importNo: found?.no ?? null, before: asked.place, limit: asked.limit}),
      placeOf: ({id}) => id,
    },
  )
  const imports = await listImportNames(db, [...new Set(page.flatMap(({importNo}) => importNo ?? []))])
  const byNo = new Map(imports.map(one => [one.no, one]))
  const runs = page.map(async run => {
    const its = run.importNo === null ? undefined : byNo.get(run.importNo)
    return {...describeRun({run, importId: its?.id ?? null, ...(await readRun(db, run))}), importName: its?.name ?? null}
  })
  return {runs: await Promise.all(runs), nextCursor}
}
