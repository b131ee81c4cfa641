import {listOrgsWithDeleted} from '../sql/expiry.ts'
import {periodicTask} from './periodic.ts'
import {deleteImports, emptyImports, emptyRuns} from './retention/empty.ts'
import {doNight, type Nightly} from './retention/night.ts'
import {attempt, openLogged} from './retention/tally.ts'
import {removeUploads} from './retention/uploads.ts'

const everyMs = 20_000
const orgsPerLook = 20

/** Removes deleted imports, unfinished uploads and unnamed objects at once, not only at night. */
export const removeDeleted = async (tools: Omit<Nightly, 'config'>) => {
  const retaining = {...tools, tally: openLogged(tools)}
  const orgs = await listOrgsWithDeleted(tools.db, {limit: orgsPerLook})
  for (const id of orgs) {
    await attempt(retaining, 'emptying runs', id, () => emptyRuns(retaining, {id}))
    await attempt(retaining, 'emptying imports', id, () => emptyImports(retaining, {id}))
    await attempt(retaining, 'bare imports', id, () => deleteImports(retaining, {id, days: null}))
  }
  await removeUploads(retaining)
}

/** Returns a random interval, which keeps processes that were started together apart. */
const sometime = () => everyMs * (0.75 + Math.random() / 2)

/**
 * Deletes data past the history window of its org once a day, in pieces that block nothing. Data that people delete is removed within a
 * minute. There is no job: one process claims the row of the night, and each step works on what is left, whichever process died before.
 */
export default periodicTask({name: 'retention', everyMs: sometime, steps: [removeDeleted, doNight]})
