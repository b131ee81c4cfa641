import type {WriteAnswer} from '../../../shared/crm/crm.ts'
import type {Context} from '../context.ts'
import type {BatchKind, CompiledFlow} from '../model.ts'
import type {Op} from '../settle/verdict.ts'
import {replaceRows} from '../subform/send.ts'
import {undelete} from '../undo/undelete.ts'
import {payloadOf} from './nested-rows.ts'

/** Sends the request. Checks `mayLeave` again at the moment of the send, because renewing the access token and connecting take time. */
export const writeOps = (ctx: Context, flow: CompiledFlow, kind: BatchKind, ops: Op[], mayLeave: () => boolean): Promise<WriteAnswer> => {
  const {connection, lease} = ctx
  const {module, tags, unmodifiedSince = null} = flow
  const options = {...flow.options, unmodifiedSince, signal: lease.lost, mayLeave}
  const ids = ops.map(({target}) => target!)
  if (tags) return connection.addTags!(module.apiName, {ids, tags}, options)
  if (kind === 'replace') return replaceRows(ctx, flow, ops, options)
  if (kind === 'delete') return connection.deleteRecords!(module.apiName, ids, options)
  if (kind === 'undelete') return undelete(ctx, flow, ids, options)
  return kind === 'create'
    ? connection.createRecords(
        module.apiName,
        ops.map(({row}) => payloadOf(row)),
        options,
      )
    : connection.updateRecords(
        module.apiName,
        ops.map(({row, target}) => ({...row.payload, id: target!})),
        options,
      )
}
