import {listOrgsWithDeleted} from '../sql/expiry.ts'
import {deleteImports, emptyImports, emptyRuns} from './retention/empty.ts'
import {doNight, type Nightly} from './retention/night.ts'
import {attempt, openLogged} from './retention/tally.ts'
import {removeUploads} from './retention/uploads.ts'
import {rounds} from './rounds.ts'

const everyMs = 20_000
const orgsPerLook = 20

/** Imports that somebody deleted do not wait for the night, nor do unfinished uploads, nor objects that nothing names any more. */
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

/** Processes that were started together do not go on looking together. */
const sometime = () => everyMs * (0.75 + Math.random() / 2)

/**
 * What is past its org's history window goes once a day, in pieces small enough to hold nothing up; what people delete goes within the
 * minute. No job: the night is a row that one process claims, and each step finds what is left, whoever died over it.
 */
export default rounds({name: 'retention', everyMs: sometime, steps: [removeDeleted, doNight]})
