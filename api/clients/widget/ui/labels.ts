import type {Role} from '../state/rights.ts'
import {t} from '../text/shell.ts'

export const sayRole = (role: string | null): string => (role === null ? '' : (t.roles[role as Role] ?? role))

/** Returns an API name with spaces instead of underscores, for a field or module without a known label. */
export const sayName = (apiName: string): string => apiName.replaceAll('_', ' ')

/** Replaces a field's API name by its label, in a text that the API returned. */
export const withLabel = (text: string, apiName: string | null, label: string | null = apiName && sayName(apiName)): string =>
  apiName && label && /^\w+$/.test(apiName) ? text.replaceAll(new RegExp(`(?<!\\w)${apiName}(?!\\w)`, 'g'), () => label) : text
