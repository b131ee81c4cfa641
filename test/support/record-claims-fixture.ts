import {openOrg} from './importing.ts'
import type {Here} from './record-claims.ts'
import {startTestDeployment} from './test-deployment.ts'

export const openHere = async (t: Parameters<typeof startTestDeployment>[0], environment = {}): Promise<Here> => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '10', ...environment}})
  return {world: here, org: await openOrg(here)}
}
