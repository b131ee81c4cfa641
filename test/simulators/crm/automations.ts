import type {Call} from './call.ts'
import type {Module} from './modules.ts'

const kinds = ['workflow', 'approval', 'blueprint', 'pathfinder', 'orchestration'] as const

/** The automations that one write would have started. The stand-in executes none. */
export type AutomationNote = {
  seq: number
  at: string
  org: string
  module: string
  operation: string
  ids: string[]
  ran: (typeof kinds)[number][]
}

export const noteAutomations = (
  {world, org}: Pick<Call, 'world' | 'org'>,
  module: Module,
  operation: string,
  ids: string[],
  trigger: unknown,
) => {
  if (ids.length === 0) return
  const ran =
    trigger === undefined
      ? operation === 'delete'
        ? ['workflow' as const]
        : [...kinds]
      : kinds.filter(kind => (trigger as unknown[]).includes(kind))
  world.automations.push({
    seq: world.automations.total + 1,
    at: new Date(world.clock.now()).toISOString(),
    org: org.key,
    module: module.name,
    operation,
    ids,
    ran,
  })
}
