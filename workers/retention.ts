import {listOrgsWithDeleted} from '../sql/expiry.ts'
import {periodicTask} from './periodic.ts'
import {deleteImports, emptyImports, emptyRuns} from './retention/empty.ts'
import {doNight, type Nightly} from './retention/night.ts'
import {attempt, openLogged} from './retention/tally.ts'
import {removeUploads} from './retention/uploads.ts'

const everyMs = 20_000
const orgsPerLook = 20

/** Removes imports that people deleted, unfinished uploads, and objects that are pending delete, without waiting for the night. */
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

/** Returns a random interval, so that processes that were started together do not poll together. */
const sometime = () => everyMs * (0.75 + Math.random() / 2)

/**
 * Deletes data past the history window of its org once a day, in pieces that block nothing. The data of imports that people deleted does not
 * wait for the night. There is no job: one process claims the row of the night. Each step works on what is left, even if an earlier process
 * died.
 */
export default periodicTask({name: 'retention', everyMs: sometime, steps: [removeDeleted, doNight]})
