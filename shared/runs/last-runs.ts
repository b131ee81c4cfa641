import type {Db} from '../../sql/database.ts'
import type {Import} from '../../sql/imports.ts'
import {listLastRuns} from '../../sql/runs.ts'
import {describeRun} from './describe.ts'
import {readRun} from './names.ts'

type DescribedRun = ReturnType<typeof describeRun>

/** Reads the last started run of each import, without dry runs. The returned function gives the run of one import, or null. */
export const readLastRuns = async (db: Db, imports: readonly Import[]): Promise<(found: Import) => DescribedRun | null> => {
  const ids = new Map(imports.map(({no, id}) => [no, id]))
  const runs = await listLastRuns(db, [...ids.keys()])
  const described = await Promise.all(
    runs.map(async run => {
      const importId = ids.get(run.importNo!)!
      return [importId, describeRun({run, importId, ...(await readRun(db, run))})] as const
    }),
  )
  const byImport = new Map(described)
  return ({id}) => byImport.get(id) ?? null
}
