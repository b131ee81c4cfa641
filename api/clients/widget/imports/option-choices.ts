import {t} from '../text/options.ts'
import type {Flow} from './import.ts'

type KnownOption = {id: string; name: string}

/** Returns the options of a select of layouts or assignment rules. A chosen one that the CRM no longer has stays an option. */
export const optionsOf = (known: KnownOption[] = [], chosen: string | null, none: string) => [
  {value: '', label: none},
  ...known.map(({id, name}) => ({value: id, label: name})),
  ...(chosen !== null && !known.some(({id}) => id === chosen) ? [{value: chosen, label: t.notFound(chosen)}] : []),
]

/** Splits tags at commas. Tags that differ only in case are one tag. */
export const splitTags = (text: string): string[] => [
  ...new Map(text.split(',').flatMap(tag => (tag.trim() ? [[tag.trim().toLowerCase(), tag.trim()] as const] : []))).values(),
]

/** Whether rows that change nothing are skipped. Without a choice, the API saves `skip`, or `write` if automations run. */
export const skipsUnchanged = ({match, automations}: Pick<Flow, 'match' | 'automations'>): boolean =>
  (match?.unchanged ?? (automations ? 'write' : 'skip')) === 'skip'
