/** `embed`: the origin that may embed this page, and the template of the imports made here. Null on the widget's own page. */
export type Settings = {dataCentres: string[]; embed: {origin: string; template: string} | null}

export const settings: Settings = JSON.parse(document.getElementById('settings')!.textContent!)
