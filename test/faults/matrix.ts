import {violence} from './r01-violence.ts'
import {crmSilences} from './r02-crm-silences.ts'
import {webhooks} from './r12-webhooks.ts'
import {leases} from './r13-leases.ts'
import type {Scenario} from './scenario.ts'

/** The fault matrix, in its order. */
export const MATRIX: readonly Scenario[] = [violence, crmSilences, webhooks, leases]
