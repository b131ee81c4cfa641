import htm from 'htm'
import {h} from 'preact'

/** Creates markup from a template literal. Interpolated values become text, except markup made by `html` itself. */
export const html = htm.bind(h)
export type Markup = ReturnType<typeof html> | string | number | null | undefined | false | Markup[]
