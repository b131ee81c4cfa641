import test, {type ExecutionContext} from 'ava'
import {type Deployment, type Options, openDeployment} from './deployment.ts'
import {openOrg} from './importing.ts'

export type TestDeployment = Deployment

/** Functions that end what this test file started. They run after the last test, in reverse order. */
const begun: (() => Promise<unknown>)[] = []
test.after.always('the world ends', async () => {
  const ended = []
  for (const end of begun.toReversed()) ended.push(...(await Promise.allSettled([end()])))
  // A failure does not prevent the other functions, so its error is thrown only here.
  for (const end of ended) if (end.status === 'rejected') throw end.reason
})

/** Registers a function that ends something after the last test, before the parts of earlier deployments end. */
export const endAfterTests = (end: () => Promise<unknown>) => void begun.push(end)

/** Starts a deployment for one test file. It ends after the last test. The tests of the file use different orgs. */
export const startTestDeployment = (t: ExecutionContext<any>, options: Options = {}): Promise<TestDeployment> =>
  openDeployment(t.title, options, end => begun.push(end))

/** Starts a deployment that imports, with a short CRM time-out and a short lag of queries, and opens an org in it. */
export const openImports = async (t: ExecutionContext<any>) => {
  const environment = {CRM_TIMEOUT_SECONDS: '3', CRM_LAG_SECONDS: '1'}
  const here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment})
  return {here, org: await openOrg(here)}
}
