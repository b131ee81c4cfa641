import {isAtLeast} from '../shared/people/roles.ts'
import type {Asker as RunAsker} from '../shared/runs/outside.ts'
import type {Asker as TemplateAsker} from '../shared/templates/find.ts'
import type {Member} from './access.ts'

/** Who asks, as far as it matters whose a template or a schedule is. */
export const templateAskerOf = ({org, person, role}: Member): TemplateAsker => ({org, person, rank: role})

/** The same of a run that an engine outside carries. */
export const runAskerOf = ({org, person, role}: Member): RunAsker => ({org, person, admin: isAtLeast(role, 'admin')})
