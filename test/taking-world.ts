import {openOrg} from './importing.ts'
import type {Here} from './taking.ts'
import {world} from './world.ts'

/** The world of a test file about takes. */
export const openHere = async (t: Parameters<typeof world>[0], environment = {}): Promise<Here> => {
  const here = await world(t, {workers: ['discovery', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '10', ...environment}})
  return {world: here, org: await openOrg(here)}
}
