import htm from 'htm'
import {h} from 'preact'

/** Markup as a tagged template: what stands in it is text, never markup, unless it was made by this tag. */
export const html = htm.bind(h)
export type Markup = ReturnType<typeof html> | string | number | null | undefined | false | Markup[]
