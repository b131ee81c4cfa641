import type {AuditActor} from '../shared/accounts/audit/event.ts'
import type {MemberCaller} from './access.ts'
import {deviceOf} from './device.ts'
import type {ApiRequest} from './route.ts'

export const actorOf = (
  {org, via, person, session, token}: Pick<MemberCaller, 'org' | 'via' | 'person' | 'session' | 'token'>,
  request: Pick<ApiRequest, 'headers' | 'address'>,
): AuditActor => ({org, via, person, session, token, device: deviceOf(request)})
