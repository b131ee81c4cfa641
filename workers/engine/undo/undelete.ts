import type {WriteAnswer, WriteOptions} from '../../../shared/crm/crm.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'

/**
 * Takes records out of the recycle bin. The CRM may only schedule it. Such a record counts as unanswered, so that it is read until it is
 * there.
 */
export const undelete = async ({connection}: Context, _flow: CompiledFlow, ids: string[], options: WriteOptions): Promise<WriteAnswer> =>
  connection.restoreRecords!(ids, options)
