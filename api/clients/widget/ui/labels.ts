import type {Role} from '../state/rights.ts'
import {t} from '../text/shell.ts'

/** Returns the name of a role. */
export const sayRole = (role: string | null): string => (role === null ? '' : (t.roles[role as Role] ?? role))

/** Returns an API name in words, for a field or module whose label is not known. */
export const sayName = (apiName: string): string => apiName.replaceAll('_', ' ')

/** Replaces the API name of a field in a text of the API by its label. */
export const withLabel = (text: string, apiName: string | null, label: string | null = apiName && sayName(apiName)): string =>
  apiName && label && /^\w+$/.test(apiName) ? text.replaceAll(new RegExp(`(?<!\\w)${apiName}(?!\\w)`, 'g'), () => label) : text
