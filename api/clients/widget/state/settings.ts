export type Settings = {dataCentres: string[]}

/** The settings that the server embeds into the page. */
export const settings: Settings = JSON.parse(document.getElementById('settings')!.textContent!)
