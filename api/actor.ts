import type {AuditActor} from '../shared/audit/event.ts'
import type {Member} from './access.ts'
import {deviceOf} from './device.ts'
import type {Asked} from './route.ts'

/** The caller of a request as the audit export names them. */
export const actorOf = (
  {org, via, person, session, token}: Pick<Member, 'org' | 'via' | 'person' | 'session' | 'token'>,
  request: Pick<Asked, 'headers' | 'address'>,
): AuditActor => ({org, via, person, session, token, device: deviceOf(request)})
