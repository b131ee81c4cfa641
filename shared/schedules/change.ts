import type {Tx} from '../../sql/database.ts'
import type {Schedule} from '../../sql/schedules.ts'
import type {TemplateRow} from '../../sql/templates.ts'
import {type Author, type Change, recordChanges} from '../configuration/change.ts'

/**
 * Records a schedule's change in the settings history. Every member can read the history, so a schedule of a private template appears only by
 * its id.
 */
export const recordSchedule = (
  tx: Tx,
  author: Author,
  {schedule: {id, name, connectorId}, template}: {schedule: Schedule; template: Pick<TemplateRow, 'shared'>},
  change: Pick<Change, 'subject' | 'before' | 'after'>,
): Promise<void> => recordChanges(tx, author, [{page: 'templates', target: template.shared ? name : id, connectorId, ...change}])

/**
 * Returns the parts of a schedule for the history. The address and credentials of the source are left out, because only builders may read them.
 */
export const contentOf = ({id, templateId, version, cron, timezone, verify, enabled}: Schedule) => ({
  scheduleId: id,
  templateId,
  version,
  cron,
  timezone,
  verify,
  enabled,
})
