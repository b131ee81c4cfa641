import {isAtLeast} from '../shared/people/roles.ts'
import type {Asker as RunAsker} from '../shared/runs/outside.ts'
import type {Editor as TemplateEditor} from '../shared/templates/write.ts'
import type {Member} from './access.ts'

/** Who asks, as far as it matters whose a template or a schedule is. */
export const templateAskerOf = ({org, person, role, via, token}: Member): TemplateEditor => ({org, person, rank: role, via, token})

/** The same of a run that an engine outside carries. */
export const runAskerOf = ({org, person, role}: Member): RunAsker => ({org, person, admin: isAtLeast(role, 'admin')})
