'use strict';

// What a page does beyond its HTML: times tick, lists follow, and a request that has changed says so. It decides
// nothing, moves nothing under the pointer, and takes the focus from nobody. Without it the pages work the same.

(() => {
  const watched = document.body.dataset.live;
  const news = document.getElementById('news');
  const loadedAtMs = Date.now();

  // --- times -------------------------------------------------------------------------------------------------------

  const UNITS = [
    { ms: 86_400_000, name: 'd', below: { ms: 3_600_000, name: 'h' } },
    { ms: 3_600_000, name: 'h', below: { ms: 60_000, name: 'min' } },
    { ms: 60_000, name: 'min', below: { ms: 1_000, name: 's' } },
  ];

  function duration(ms) {
    const unit = UNITS.find((each) => ms >= each.ms);
    if (unit === undefined) return `${Math.round(ms / 1_000)} s`;
    const rest = Math.floor((ms % unit.ms) / unit.below.ms);
    const large = `${Math.floor(ms / unit.ms)} ${unit.name}`;
    return rest === 0 ? large : `${large} ${rest} ${unit.below.name}`;
  }

  /** By the server's clock: only what has passed since the page came is the browser's own. */
  function tick() {
    const passedMs = Date.now() - loadedAtMs;
    for (const time of document.querySelectorAll('time.relative')) {
      const fromNowMs = Date.parse(time.dateTime) - (Number(time.dataset.now) + passedMs);
      const text = fromNowMs >= 0 ? `in ${duration(fromNowMs)}` : `${duration(-fromNowMs)} ago`;
      if (time.textContent !== text) time.textContent = text;
    }
  }

  // --- news --------------------------------------------------------------------------------------------------------

  function say(text) {
    if (news.dataset.text === text) return;
    news.dataset.text = text;
    const line = document.createElement('p');
    const reload = document.createElement('a');
    const query = new URLSearchParams(location.search);
    query.delete('said');
    reload.href = location.pathname + (query.size === 0 ? '' : `?${query}`);
    reload.textContent = 'Reload';
    line.append(`${text} `, reload);
    news.replaceChildren(line);
  }

  function unsay(text) {
    if (news.dataset.text !== text) return;
    delete news.dataset.text;
    news.replaceChildren();
  }

  const LOST = 'Not connected: this page may be out of date.';

  async function fresh() {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'error' });
    if (!answer.ok) throw new Error(`the page answers ${answer.status}`);
    return new DOMParser().parseFromString(await answer.text(), 'text/html');
  }

  // --- lists -------------------------------------------------------------------------------------------------------

  /** The times of rows that stay count from when they came. */
  function settle(root) {
    const passedMs = Date.now() - loadedAtMs;
    for (const time of root.querySelectorAll('time.relative')) time.dataset.now = Number(time.dataset.now) - passedMs;
  }

  /** A link that has the focus is kept as it is; its row stays where it is, marked, when the list has lost it. */
  function keepFocused(active, next) {
    const row = active.closest('.row');
    if (row === null) return;
    const twin = next.querySelector(`#${CSS.escape(row.id)}`);
    if (twin !== null) {
      const link = [...twin.querySelectorAll('a, button, summary')].find((each) => each.outerHTML === active.outerHTML);
      link?.replaceWith(active);
      return;
    }
    keepGone(row, next);
  }

  function keepGone(row, next) {
    const place = [...row.parentNode.children].indexOf(row);
    const rows = next.querySelector('.requests');
    if (!row.classList.contains('gone')) {
      row.classList.add('gone');
      (row.querySelector('.what') ?? row.firstElementChild).append(' (no longer in this list)');
    }
    rows?.insertBefore(row, rows.children[place] ?? null);
  }

  const FIELDS = 'input:not([type="hidden"]), textarea';

  /** Somebody writes or has written in it. */
  function isInUse(row) {
    return [...row.querySelectorAll(FIELDS)].some(
      (field) =>
        field === document.activeElement ||
        field.checked !== field.defaultChecked ||
        field.value !== field.defaultValue,
    );
  }

  /** Such a row stays as it is: what was typed is not lost to something new. */
  function keepInUse(row, next) {
    const twin = next.querySelector(`#${CSS.escape(row.id)}`);
    if (twin === null) keepGone(row, next);
    else twin.replaceWith(row);
  }

  /** What somebody has opened stays open. */
  function keepOpen(list, next) {
    for (const row of list.querySelectorAll('.row')) {
      const twins = next.querySelectorAll(`#${CSS.escape(row.id)} details`);
      row.querySelectorAll('details').forEach((details, nth) => {
        if (details.open && twins[nth]) twins[nth].open = true;
      });
    }
  }

  function swapList(page) {
    const list = document.getElementById('list');
    const next = page.getElementById('list');
    if (list === null || next === null) return;
    settle(next);
    keepOpen(list, next);
    const active = list.contains(document.activeElement) ? document.activeElement : null;
    const inUse = [...list.querySelectorAll('.row')].filter(isInUse);
    if (active !== null && !inUse.some((row) => row.contains(active))) keepFocused(active, next);
    for (const row of inUse) keepInUse(row, next);
    list.replaceChildren(...next.childNodes);
    if (active?.isConnected) active.focus({ preventScroll: true });
  }

  // --- one request -------------------------------------------------------------------------------------------------

  function compare(page) {
    const shown = document.getElementById('request');
    const now = page.getElementById('request');
    if (shown === null || now === null || shown.dataset.standing === now.dataset.standing) return;
    say(`This has changed: ${now.dataset.words}.`);
    if (shown.dataset.open === now.dataset.open) return;
    for (const button of shown.querySelectorAll('form button')) button.disabled = true;
  }

  // --- following ---------------------------------------------------------------------------------------------------

  const LONGEST_WAIT_MS = 30_000;

  /** Waits longer each time; at most one attempt of a kind is due. */
  function later(attempt) {
    let timer = null;
    let waitMs = 1_000;
    return {
      again() {
        timer ??= setTimeout(() => {
          timer = null;
          attempt();
        }, waitMs);
        waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
      },
      done() {
        clearTimeout(timer);
        timer = null;
        waitMs = 1_000;
      },
    };
  }

  const rereading = later(() => void read());
  const refollowing = later(follow);
  let isReading = false;
  let isAgain = false;

  /** One reading at a time; what comes meanwhile is read once more at its end, and what failed is tried again. */
  async function read() {
    if (isReading) {
      isAgain = true;
      return;
    }
    isReading = true;
    try {
      do {
        isAgain = false;
        const page = await fresh();
        if (watched === 'list') swapList(page);
        else compare(page);
        unsay(LOST);
      } while (isAgain);
      rereading.done();
    } catch {
      say(LOST);
      rereading.again();
    } finally {
      isReading = false;
    }
  }

  const PATIENCE_MS = 5_000;
  let hasFollowed = false;
  let away = null;

  function follow() {
    const source = new EventSource('/live');
    source.addEventListener('open', () => {
      clearTimeout(away);
      away = null;
      refollowing.done();
      if (hasFollowed || news.dataset.text === LOST) void read();
      hasFollowed = true;
    });
    source.addEventListener('error', () => {
      away ??= setTimeout(() => say(LOST), PATIENCE_MS);
      // The browser comes back by itself after a lost connection, but not after an answer that is no stream.
      if (source.readyState === EventSource.CLOSED) refollowing.again();
    });
    source.addEventListener('message', (event) => {
      const change = JSON.parse(event.data);
      if (watched === 'list' || change.operationId === watched || change.operationId === null) void read();
    });
  }

  setInterval(tick, 1_000);
  if (watched) follow();
})();
