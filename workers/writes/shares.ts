import type {Budget, Share} from '../../shared/crm/budget.ts'
import type {CrmOrg} from '../../sql/allowances.ts'
import type {Tools} from '../tools.ts'

/** Opening a share costs a short transaction before its first call, keeping one a transaction a second. */
const idleMs = 5_000

type Room = {share: Share; inside: number; idle: NodeJS.Timeout | undefined}

/** Of each budget, by CRM org. */
const rooms = new WeakMap<Budget, Map<string, Room>>()

/** This process's one share of a CRM org's budget for writes: kept for a while after the last of them is closed. */
export const openShare = ({budget, drain}: Pick<Tools, 'budget' | 'drain'>, {dc, crmOrgId}: CrmOrg): Share => {
  const open = rooms.get(budget) ?? new Map<string, Room>()
  rooms.set(budget, open)
  const key = `${dc}.${crmOrgId}`
  const room = open.get(key) ?? {share: budget.open({dc, crmOrgId}, null), inside: 0, idle: undefined}
  open.set(key, room)
  clearTimeout(room.idle)
  room.inside++
  const shut = async () => {
    clearTimeout(room.idle)
    drain.removeEventListener('abort', shut)
    if (room.inside > 0 || !open.delete(key)) return
    await room.share.close()
  }
  return {
    ...room.share,
    async close() {
      if (--room.inside > 0) return
      if (drain.aborted) return shut()
      room.idle = setTimeout(shut, idleMs)
      drain.addEventListener('abort', shut, {once: true})
    },
  }
}
