import type {ExecutionContext} from 'ava'
import {openOrg} from './importing.ts'
import {startFileHost} from './schedules.ts'
import {endAfterTests, startTestDeployment} from './test-deployment.ts'

/** Starts a file host and a deployment whose plans allow 100 schedules, and opens an org. Host and deployment end after the last test. */
export const openSchedules = async (t: ExecutionContext<any>, environment: Record<string, string> = {}) => {
  const host = await startFileHost()
  endAfterTests(host.stop)
  const workers = ['imports', 'discovery', 'schedules', 'clock']
  const house = await startTestDeployment(t, {workers, environment: {PRIVATE_HOSTS: host.place, ...environment}})
  await house.hot.query(`update plan_versions set limits = limits || '{"schedules": 100}'`)
  return {house, host, org: await openOrg(house)}
}
