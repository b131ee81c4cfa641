import {html} from '../html.ts'
import type {Source} from './import.ts'
import {RowsPreview} from './rows-preview.ts'

type Props = {importId: string; source: Source; again: () => Promise<void>}

/** The first rows of a file as a grid below its header. */
export const FirstRows = ({importId, source}: Props) => html`<${RowsPreview} importId=${importId} source=${source} />`
