import {type Crm, CrmError} from '../shared/crm/crm.ts'
import {Refusal} from '../shared/errors.ts'

type Health = {health: 'ok' | 'ended' | 'disconnected' | 'unavailable'; activeUsers: number | null; problem: object | null}

/** Tests the connection by counting the active users of the CRM. A broken connection is a result, not an error. */
export const readHealth = async (crm: Crm, {id, state}: {id: string; state: string}, signal: AbortSignal): Promise<Health> => {
  if (state === 'ended' || state === 'disconnected') return {health: state, activeUsers: null, problem: null}
  try {
    const connection = await crm.open(id)
    return {health: 'ok', activeUsers: await connection.countActiveUsers({signal}), problem: null}
  } catch (error) {
    if (error instanceof Refusal) return {health: 'unavailable', activeUsers: null, problem: error.envelope}
    if (error instanceof CrmError) return {health: 'unavailable', activeUsers: null, problem: {error: error.message, crm: error.crm}}
    throw error
  }
}
