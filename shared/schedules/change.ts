import type {Tx} from '../../sql/database.ts'
import type {Schedule} from '../../sql/schedules.ts'
import type {TemplateRow} from '../../sql/templates.ts'
import {type Author, type Change, recordChanges} from '../registry/change.ts'

/** A change of a schedule, in the settings history. Every member reads that, so a schedule of a private template is named by its id. */
export const recordSchedule = (
  tx: Tx,
  author: Author,
  {schedule: {id, name, connectorId}, template}: {schedule: Schedule; template: Pick<TemplateRow, 'shared'>},
  change: Pick<Change, 'subject' | 'before' | 'after'>,
): Promise<void> => recordChanges(tx, author, [{page: 'templates', target: template.shared ? name : id, connectorId, ...change}])

/** What the history tells of a schedule: never its address or credentials, which builders alone may read. */
export const contentOf = ({id, templateId, version, cron, timezone, enabled}: Schedule) => ({
  ...{scheduleId: id, templateId, version, cron, timezone, enabled},
})
