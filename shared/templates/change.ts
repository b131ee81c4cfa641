import type {Tx} from '../../sql/database.ts'
import type {TemplateRow} from '../../sql/templates.ts'
import {type Author, type Change, recordChanges} from '../registry/change.ts'

type Named = Pick<TemplateRow, 'id' | 'name' | 'shared' | 'connectorId'>

/** A change of a template, in the settings history. Every member reads that, so a private template is named by its id. */
export const recordTemplate = (
  tx: Tx,
  author: Author,
  {id, name, shared, connectorId}: Named,
  change: Pick<Change, 'subject' | 'before' | 'after'>,
): Promise<void> => recordChanges(tx, author, [{page: 'templates', target: shared ? name : id, connectorId, ...change}])

/** What the history tells of a template's content: which version. */
export const versionOf = ({id, version}: Pick<TemplateRow, 'id' | 'version'>) => ({templateId: id, version})
