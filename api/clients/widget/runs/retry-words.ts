import {plural} from '../ui/format.ts'
import type {Run} from './run.ts'
import {emptyLinksOf, type Group, leftOf, missingTagsOf} from './tally.ts'

/** What a retry would do: rows to write, empty links to fill, and records that lack their tags. */
export type OpenParts = {left: number; links: number; tags: number}

export const openOf = (run: Run, groups: readonly Group[]): OpenParts => ({
  left: leftOf(run),
  links: emptyLinksOf(run),
  tags: missingTagsOf(groups),
})

/** Returns the button that offers a retry, and the dialog that confirms it. A stopped run without open parts can be retried too. */
export const sayRetry = ({left, links, tags}: OpenParts) => {
  const rows = left > 0 && `This creates and updates records in the CRM for up to ${plural(left, 'row')}.`
  const filled = links > 0 && `It fills up to ${plural(links, 'link')} of rows already written.`
  const tagged = tags > 0 && `It adds the tags to ${plural(tags, 'record')}.`
  const others = links + tags > 0 ? 'Nothing else of the rows already written changes.' : 'Rows already written do not change.'
  const effect = [rows, filled, tagged, others].filter(Boolean).join(' ')
  if (left > 0)
    return {
      button: `Retry ${plural(left, 'row')}`,
      title: 'Retry the remaining rows?',
      action: `Write up to ${plural(left, 'row')}`,
      effect,
    }
  if (links > 0)
    return {button: `Fill ${plural(links, 'link')}`, title: 'Fill the empty links?', action: `Fill up to ${plural(links, 'link')}`, effect}
  const button = tags > 0 ? `Tag ${plural(tags, 'record')}` : 'Retry the run'
  return {button, title: tags > 0 ? 'Add the missing tags?' : 'Retry the stopped run?', action: button, effect}
}
