import {isAtLeast} from '../shared/accounts/roles.ts'
import type {Editor as TemplateEditor} from '../shared/mapping/templates/write.ts'
import type {RunCaller as RunAsker} from '../shared/runs/external/run.ts'
import type {MemberCaller} from './access.ts'

export const templateAskerOf = ({org, person, role, via, token, staffView}: MemberCaller): TemplateEditor => ({
  org,
  person,
  rank: role,
  via,
  token,
  staffView,
})

export const runAskerOf = ({org, person, role}: MemberCaller): RunAsker => ({org, person, admin: isAtLeast(role, 'admin')})
