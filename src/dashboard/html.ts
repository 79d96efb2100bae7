/** The page's shell: no data, nothing inline, nothing from elsewhere. */
export const pageHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="dark">
<title>Bulkhead</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page/style.css">
<script type="module" src="/page/main.js"></script>
</head>
<body>
<header class="top">
  <h1 id="title">Bulkhead</h1>
  <p class="link" id="link" role="status"><span class="lamp" id="lamp" aria-hidden="true"></span><span id="link-text">connecting</span></p>
</header>
<main>
  <form id="gate" class="gate" hidden>
    <h2>Admin key</h2>
    <p>The page shows pools and counts, never a prompt or an answer. Its data needs the key that <code>serve</code> printed.</p>
    <label for="key">Key</label>
    <div class="row"><input id="key" type="password" autocomplete="off" spellcheck="false" required><button type="submit">Open</button></div>
    <p id="gate-error" class="gate-error" role="alert"></p>
  </form>
  <section id="story" class="story" hidden>
    <p id="caption" class="caption" aria-live="polite"></p>
    <ol id="steps" class="steps"></ol>
  </section>
  <div id="panes" class="panes"></div>
  <section id="events-box" class="events" hidden>
    <h2>Events</h2>
    <ol id="events"></ol>
  </section>
</main>
<noscript><p class="gate">This page needs its own script, which is served from here and talks to nobody else.</p></noscript>
</body>
</html>
`
